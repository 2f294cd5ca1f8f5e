/** Fields of the forms for alert settings. */
import { type ReactNode, useId } from 'react';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly disabled?: boolean;
}

function Field({ label, hint, of }: { readonly label: string; readonly hint?: string; readonly of: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {of(id)}
      {hint === undefined ? null : <span className="field-hint">{hint}</span>}
    </div>
  );
}

export const TextField = ({ value, onChange, disabled = false, ...field }: FieldProps) => (
  <Field
    {...field}
    of={(id) => (
      <input id={id} className="input" value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)} />
    )}
  />
);

export interface ChoiceFieldProps extends FieldProps {
  /** Texts by value. */
  readonly choices: Readonly<Record<string, string>>;
}

export const ChoiceField = ({ value, onChange, disabled = false, choices, ...field }: ChoiceFieldProps) => (
  <Field
    {...field}
    of={(id) => (
      <select id={id} className="input" value={value} disabled={disabled} onChange={(event) => onChange(event.target.value)}>
        {Object.entries(choices).map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    )}
  />
);

export interface ChecksProps {
  readonly legend: string;
  readonly names: readonly string[];
  readonly checked: readonly string[];
  readonly onChange: (checked: readonly string[]) => void;
  /** Shown instead if there is nothing to choose. */
  readonly empty?: string;
}

/** A group of check boxes, in the order of `names`. */
export function Checks({ legend, names, checked, onChange, empty }: ChecksProps) {
  const toggle = (name: string) => onChange(names.filter((each) => checked.includes(each) !== (each === name)));
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
