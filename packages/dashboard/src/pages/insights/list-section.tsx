/** A list of insights under its own heading. Rows keep their positions while the page is open. */
import type { ReactNode } from 'react';
import { useCompleteList } from '../../api/complete-list.js';
import type { useApi } from '../../api/queries.js';
import { CompleteListView } from '../../components/tables/complete-list-view.js';
import type { DataTableProps } from '../../components/tables/data-table.js';

export interface ListSectionProps<Row> extends Pick<DataTableProps<Row>, 'columns' | 'idOf' | 'hrefOf'> {
  readonly title: string;
  /** Plural name of the rows, such as `workflows`. */
  readonly rowsName: string;
  readonly query: ReturnType<typeof useApi>;
  /** The rows; must be the same array while the response is the same. */
  readonly rows: readonly Row[] | undefined;
  readonly empty: ReactNode;
  readonly actions?: ReactNode;
}

export function ListSection<Row>({ title, query, rows, actions, ...table }: ListSectionProps<Row>) {
  const list = useCompleteList({ topic: 'runs', rows, readAt: query.dataUpdatedAt, idOf: table.idOf });
  return (
    <section className="insight-list" aria-label={title}>
      <div className="section-head">
        <h2>{title}</h2>
        {actions}
      </div>
      <CompleteListView {...table} query={query} list={list} label={title} />
    </section>
  );
}
