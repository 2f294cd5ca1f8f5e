/** Button that inserts new rows. They are not inserted automatically because that would move the rows on screen. */

import { Icon } from '../icons.js';
import { singularOf } from '../times/formats.js';

export interface NewRowsBarProps {
  readonly count: number;
  /** Whether there may be more new rows than `count`. */
  readonly hasMore?: boolean;
  readonly rowsName: string;
  readonly onShow: () => void;
}

export function NewRowsBar({ count, hasMore = false, rowsName, onShow }: NewRowsBarProps) {
  return (
    <div className="new-rows-bar" role="status">
      {count === 0 ? null : (
        <button type="button" className="button button-primary" onClick={onShow}>
          <Icon name="up" />
          Show <span className="new-rows-count numeric">{hasMore ? `${count}+` : count}</span> new
          <span className="visually-hidden"> {count === 1 ? singularOf(rowsName) : rowsName}</span>
        </button>
      )}
    </div>
  );
}
