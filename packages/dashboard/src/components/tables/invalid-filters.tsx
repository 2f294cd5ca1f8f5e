/** Shown instead of a list while a filter is invalid. Without the filter, the list would show more than the user asked for. */
import { EmptyState } from '../states.js';
import type { FilterField } from './filter-fields.js';

export interface InvalidFiltersProps {
  /** The invalid fields; at least one. */
  readonly fields: readonly FilterField<string>[];
  /** Plural name of the rows, such as `runs`. */
  readonly rowsName: string;
  readonly onClear: () => void;
}

export function InvalidFilters({ fields, rowsName, onClear }: InvalidFiltersProps) {
  return (
    <div className="table" role="status">
      <EmptyState
        title={fields.length === 1 ? 'Invalid filter' : 'Invalid filters'}
        action={
          <button type="button" className="button" onClick={onClear}>
            Clear filters
          </button>
        }
      >
        To list {rowsName}, correct or clear {fields.map(({ label }) => `“${label}”`).join(', ')}.
      </EmptyState>
    </div>
  );
}
