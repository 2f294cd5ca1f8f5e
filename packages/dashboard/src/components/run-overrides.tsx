/** Settings of new runs. Empty fields keep the defaults, or the settings of the failed runs that the new ones replace. */
import { useId } from 'react';

export interface OverrideTexts {
  readonly retries: string;
  readonly retryDelay: string;
  readonly labels: string;
  readonly flowControlKey: string;
  readonly parallelism: string;
  readonly rate: string;
  readonly periodSeconds: string;
}
export const NO_OVERRIDES: OverrideTexts = {
  retries: '',
  retryDelay: '',
  labels: '',
  flowControlKey: '',
  parallelism: '',
  rate: '',
  periodSeconds: '',
};

/** Overrides in the format of the body of a bulk operation. */
export interface RunOverrides {
  retries?: number;
  retryDelay?: string;
  labels?: string[];
  flowControl?: { key?: string; parallelism?: number; rate?: number; periodMs?: number };
}

/** Returns the overrides for the texts in the fields, or undefined if all fields are empty. */
export function overridesIn(texts: OverrideTexts): RunOverrides | undefined {
  const overrides: RunOverrides = {};
  if (texts.retries !== '') overrides.retries = Number(texts.retries);
  if (texts.retryDelay.trim() !== '') overrides.retryDelay = texts.retryDelay.trim();
  const labels = labelsIn(texts.labels);
  if (labels.length > 0) overrides.labels = labels;
  const flow: NonNullable<RunOverrides['flowControl']> = {};
  if (texts.flowControlKey.trim() !== '') flow.key = texts.flowControlKey.trim();
  if (texts.parallelism !== '') flow.parallelism = Number(texts.parallelism);
  if (texts.rate !== '') flow.rate = Number(texts.rate);
  if (texts.rate !== '' && texts.periodSeconds !== '') flow.periodMs = Number(texts.periodSeconds) * 1000;
  if (Object.keys(flow).length > 0) overrides.flowControl = flow;
  return Object.keys(overrides).length === 0 ? undefined : overrides;
}

/** Returns the overrides as the headers of an operation on a single entry. */
export function overrideHeaders(overrides: RunOverrides | undefined): Record<string, string> {
  if (overrides === undefined) return {};
  const { retries, retryDelay, labels, flowControl } = overrides;
  const limits = [
    ...(flowControl?.parallelism === undefined ? [] : [`parallelism=${flowControl.parallelism}`]),
    ...(flowControl?.rate === undefined ? [] : [`rate=${flowControl.rate}`]),
    ...(flowControl?.periodMs === undefined ? [] : [`period=${flowControl.periodMs / 1000}s`]),
  ];
  const headers: [string, string | undefined][] = [
    ['svc-retries', retries === undefined ? undefined : String(retries)],
    ['svc-retry-delay', retryDelay],
    ['svc-label', labels?.join(',')],
    ['svc-flow-control-key', flowControl?.key],
    ['svc-flow-control-value', limits.length === 0 ? undefined : limits.join(', ')],
  ];
  return Object.fromEntries(headers.filter((entry): entry is [string, string] => entry[1] !== undefined));
}

const labelsIn = (text: string): string[] =>
  text
    .split(',')
    .map((label) => label.trim())
    .filter((label) => label !== '');

interface FieldText {
  readonly label: string;
  readonly hint: string;
  /** Hint if the new run replaces a failed run. */
  readonly replacingHint?: string;
  readonly number?: { readonly min: number; readonly max?: number };
}
const FIELDS: Readonly<Record<keyof OverrideTexts, FieldText>> = {
  retries: { label: 'Retries per step', hint: '0 disables retries.', number: { min: 0, max: 100 } },
  retryDelay: {
    label: 'Retry delay (ms)',
    hint: 'A number or an expression, such as 1000 * (1 + retried), where “retried” is the number of retries so far.',
  },
  labels: { label: 'Labels', hint: 'Comma-separated.', replacingHint: 'Comma-separated. Replaces the current labels.' },
  flowControlKey: {
    label: 'Flow control key',
    hint: 'All runs with this key share its limits.',
    replacingHint: 'Leave empty to keep the current key.',
  },
  parallelism: { label: 'Parallelism', hint: 'Max deliveries in flight for the key.', number: { min: 1 } },
  rate: { label: 'Max starts per period', hint: 'Max deliveries that start in one period.', number: { min: 1 } },
  periodSeconds: {
    label: 'Period (seconds)',
    hint: 'Starts are counted in periods of this length. Default: 1.',
    number: { min: 1 },
  },
};
const FIELD_ORDER = [
  'retries',
  'retryDelay',
  'labels',
  'flowControlKey',
  'parallelism',
  'rate',
  'periodSeconds',
] as const satisfies readonly (keyof OverrideTexts)[];

const TITLES = {
  'new-run': 'Run settings',
  'replacing-run': 'Settings for the new run',
  'replacing-runs': 'Settings for the new runs',
} as const;

export interface OverrideFieldsProps {
  /** Whether the settings are for a new run, or for runs that replace failed ones. */
  readonly purpose: keyof typeof TITLES;
  readonly texts: OverrideTexts;
  readonly onChange: (texts: OverrideTexts) => void;
}

export function OverrideFields({ purpose, texts, onChange }: OverrideFieldsProps) {
  const id = useId();
  return (
    <details className="overrides">
      <summary>{TITLES[purpose]}</summary>
      <div className="overrides-fields">
        {FIELD_ORDER.map((name) => {
          const { label, hint, replacingHint = hint, number } = FIELDS[name];
          return (
            <div key={name} className="field">
              <label className="field-label" htmlFor={`${id}-${name}`}>
                {label}
              </label>
              <input
                id={`${id}-${name}`}
                className="input"
                {...(number === undefined ? {} : { type: 'number', inputMode: 'numeric' as const, step: 1, ...number })}
                autoComplete="off"
                aria-describedby={`${id}-${name}-hint`}
                value={texts[name]}
                onChange={(event) => onChange({ ...texts, [name]: event.target.value })}
              />
              <span id={`${id}-${name}-hint`} className="field-hint">
                {purpose === 'new-run' ? hint : replacingHint}
              </span>
            </div>
          );
        })}
      </div>
    </details>
  );
}
