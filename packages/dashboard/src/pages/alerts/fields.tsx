/** Fields of the forms for alert settings. */
import { SelectField } from '../../components/fields.js';

export interface ChoiceFieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly disabled?: boolean;
  /** Texts by value. */
  readonly choices: Readonly<Record<string, string>>;
}

export const ChoiceField = ({ choices, ...field }: ChoiceFieldProps) => (
  <SelectField {...field}>
    {Object.entries(choices).map(([choice, text]) => (
      <option key={choice} value={choice}>
        {text}
      </option>
    ))}
  </SelectField>
);

export interface CheckboxGroupProps {
  readonly legend: string;
  readonly names: readonly string[];
  readonly checked: readonly string[];
  readonly onChange: (checked: readonly string[]) => void;
  /** Shown if there are no names. */
  readonly empty?: string;
}

/** A group of check boxes, in the order of `names`. */
export function CheckboxGroup({ legend, names, checked, onChange, empty }: CheckboxGroupProps) {
  const toggle = (name: string) => onChange(names.filter((candidate) => checked.includes(candidate) !== (candidate === name)));
  return (
    <fieldset className="field">
      <legend className="field-label">{legend}</legend>
      {names.length === 0 ? <span className="field-hint">{empty}</span> : null}
      {names.map((name) => (
        <label key={name} className="line">
          <input type="checkbox" checked={checked.includes(name)} onChange={() => toggle(name)} />
          <span>{name}</span>
        </label>
      ))}
    </fieldset>
  );
}
