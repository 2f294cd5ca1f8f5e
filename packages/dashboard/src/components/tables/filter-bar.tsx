import { type ComponentProps, useEffect, useId, useRef, useState } from 'react';
import { Icon } from '../icons.js';
import { exactTime } from '../times/formats.js';
import { useWindowWidth } from '../times/window-width.js';
import { type FilterField, problemOf } from './filter-fields.js';
import { type FilterState, timeOf } from './filters.js';
import { ViewMenu } from './view-menu.js';

export type { FilterField } from './filter-fields.js';

export interface FilterBarProps<Name extends string> {
  readonly filters: FilterState<Name>;
  readonly fields: readonly FilterField<Name>[];
  /** Fields behind "More filters"; also shown if one of them is set. */
  readonly moreFields?: readonly FilterField<Name>[];
}

/** Number of fields shown in a narrow window, so that the list below them is in view. */
const NARROW_FIELD_COUNT = 2;

export function FilterBar<Name extends string>({
  filters,
  fields: allFields,
  moreFields: furtherFields = [],
}: FilterBarProps<Name>) {
  const isShortened = useWindowWidth() === 'narrow' && allFields.length + furtherFields.length > NARROW_FIELD_COUNT + 1;
  const fields = isShortened ? allFields.slice(0, NARROW_FIELD_COUNT) : allFields;
  const moreFields = isShortened ? [...allFields.slice(NARROW_FIELD_COUNT), ...furtherFields] : furtherFields;
  const isMoreFieldSet = moreFields.some(({ name }) => filters.values[name] !== undefined);
  const [isExpanded, setExpanded] = useState(false);
  const isOpen = isExpanded || isMoreFieldSet;
  return (
    <search className="filters" aria-label="Filters">
      {fields.map((field) => (
        <FilterInput key={field.name} field={field} filters={filters} />
      ))}
      {isOpen ? moreFields.map((field) => <FilterInput key={field.name} field={field} filters={filters} />) : null}
      {moreFields.length === 0 || isMoreFieldSet ? null : (
        <button type="button" className="button button-quiet" aria-expanded={isOpen} onClick={() => setExpanded(!isExpanded)}>
          {isOpen ? 'Fewer filters' : 'More filters'}
        </button>
      )}
      {filters.isFiltered ? (
        <button type="button" className="button button-quiet" onClick={filters.clear}>
          <Icon name="cross" />
          Clear filters
        </button>
      ) : null}
      <ViewMenu isFiltered={filters.isFiltered} />
    </search>
  );
}

function FilterInput<Name extends string>({
  field,
  filters,
}: {
  readonly field: FilterField<Name>;
  readonly filters: FilterState<Name>;
}) {
  const id = useId();
  const value = filters.values[field.name] ?? '';
  const change = (next: string) => filters.set(field.name, next);
  const isWide = 'wide' in field && field.wide === true;
  const problem = problemOf(field, value);
  const problemId = `${id}-problem`;
  const validity = problem === null ? {} : { 'aria-invalid': true as const, 'aria-describedby': problemId };
  return (
    <div className={isWide ? 'field field-wide' : 'field'}>
      <label className="field-label" htmlFor={id}>
        {field.label}
      </label>
      {field.kind === 'choice' ? (
        <select id={id} className="input" {...validity} value={value} onChange={(event) => change(event.target.value)}>
          <option value="">{field.anyText}</option>
          {/* The URL can contain another value, or several. */}
          {value === '' || field.options.some((option) => option.value === value) ? null : <option value={value}>{value}</option>}
          {field.options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.text}
            </option>
          ))}
        </select>
      ) : field.kind === 'time' ? (
        <input
          id={id}
          className="input"
          {...validity}
          type="datetime-local"
          step={1}
          value={localInput(timeOf(value))}
          onChange={(event) => change(event.target.value === '' ? '' : String(new Date(event.target.value).getTime()))}
        />
      ) : (
        <DebouncedInput
          id={id}
          validity={validity}
          value={value}
          onChange={change}
          placeholder={field.placeholder ?? (field.kind === 'list' ? 'Comma-separated' : '')}
        />
      )}
      {problem === null ? null : (
        <span id={problemId} className="field-error">
          {problem}
        </span>
      )}
    </div>
  );
}

const localInput = (unixMs: number | undefined): string =>
  unixMs === undefined ? '' : exactTime(unixMs, 'local').replace(' ', 'T');

const TYPING_PAUSE_MS = 300;

interface DebouncedInputProps {
  readonly id: string;
  readonly validity: Pick<ComponentProps<'input'>, 'aria-invalid' | 'aria-describedby'>;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder: string;
}

/** Text input that takes effect when typing pauses, on Enter, or when it loses the focus, for example to the button of an action. */
function DebouncedInput({ id, validity, value, onChange, placeholder }: DebouncedInputProps) {
  const [text, setText] = useState(value);
  const timer = useRef<number | undefined>(undefined);
  const lastSent = useRef(value);
  useEffect(() => {
    // The value changed elsewhere, for example because the user went back or cleared the filters.
    if (value !== lastSent.current) setText(value);
    lastSent.current = value;
  }, [value]);
  useEffect(
    () => () => {
      window.clearTimeout(timer.current);
      timer.current = undefined;
    },
    [],
  );
  const send = (next: string) => {
    window.clearTimeout(timer.current);
    timer.current = undefined;
    lastSent.current = next.trim();
    if (next.trim() !== value) onChange(next.trim());
  };
  return (
    <input
      id={id}
      className="input"
      {...validity}
      type="search"
      autoComplete="off"
      spellCheck={false}
      placeholder={placeholder}
      value={text}
      onChange={(event) => {
        const next = event.target.value;
        setText(next);
        window.clearTimeout(timer.current);
        timer.current = window.setTimeout(() => send(next), TYPING_PAUSE_MS);
      }}
      onKeyDown={(event) => {
        if (event.key === 'Enter') send(text);
      }}
      onBlur={() => {
        // Without a timer, there is nothing to send, or the page has been left.
        if (timer.current !== undefined) send(text);
      }}
    />
  );
}
