/** Fields of the filters of a page, and the problems of their values. A value comes from the user or from the URL of a shared view. */
import { type Filters, timeOf } from './filters.js';

interface CommonField<Name extends string> {
  readonly name: Name;
  readonly label: string;
}

export type FilterField<Name extends string> =
  /** A text field. The kind `list` accepts several values, separated by commas. */
  | (CommonField<Name> & {
      readonly kind: 'text' | 'list';
      readonly placeholder?: string;
      readonly wide?: boolean;
      /** Returns whether a value is valid. Default: all values are. */
      readonly isValid?: (value: string) => boolean;
      /** Shown for an invalid value: what to enter. */
      readonly problem?: string;
    })
  | (CommonField<Name> & {
      readonly kind: 'choice';
      readonly anyText: string;
      readonly options: readonly Option[];
      /** Returns whether a value is valid. Default: the options are. */
      readonly isValid?: (value: string) => boolean;
    })
  /** A time, entered in the user's time zone and stored in the URL as Unix ms. */
  | (CommonField<Name> & { readonly kind: 'time' });

export interface Option {
  readonly value: string;
  readonly text: string;
}

/** Returns why the value of a field is invalid and what to do; null if it is valid or empty. */
export function problemOf(field: FilterField<string>, value: string | undefined): string | null {
  if (value === undefined || value === '') return null;
  if (field.kind === 'time') return timeOf(value) === undefined ? 'The time in the URL is invalid. Choose a time.' : null;
  if (field.kind === 'choice') {
    const { options, isValid = (candidate) => options.some((option) => option.value === candidate) } = field;
    return isValid(value) ? null : 'Unknown value. Choose one from the list.';
  }
  const { isValid = () => true, problem = 'Enter at least one value.' } = field;
  return isValid(value) ? null : problem;
}

/** Returns the fields whose values are invalid. While there are any, the page must not list or change anything. */
export const invalidFieldsOf = <Name extends string>(
  fields: readonly FilterField<Name>[],
  values: Filters<Name>,
): readonly FilterField<Name>[] => fields.filter((field) => problemOf(field, values[field.name]) !== null);

/** Returns the reason why actions are disabled; undefined if all filters are valid. */
export const invalidReasonOf = (invalidFields: readonly FilterField<string>[]): string | undefined =>
  invalidFields.length === 0 ? undefined : `Invalid filter: ${invalidFields.map(({ label }) => label).join(', ')}`;
