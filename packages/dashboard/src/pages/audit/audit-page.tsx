/** Audit log: what was changed, by whom, when and from where. Entries are append-only. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { AuditLogEntry, AuditLogPage } from '../../../../everstep/src/contract/audit.js';
import { request } from '../../api/client.js';
import { type ApiFailure, valueIn } from '../../api/outcome.js';
import { useSession } from '../../api/session.js';
import { CopyId } from '../../components/copy-id.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, Skeleton } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

const FILTERS = ['word', 'accounts'] as const;
type FilterName = (typeof FILTERS)[number];
const FIELDS: readonly FilterField<FilterName>[] = [
  { kind: 'text', name: 'word', label: 'Filter loaded entries', placeholder: 'Actor, action or id', wide: true },
];
const OPERATOR_FIELDS: readonly FilterField<FilterName>[] = [
  ...FIELDS,
  { kind: 'choice', name: 'accounts', label: 'Accounts', any: 'My accounts', options: [{ value: 'all', text: 'All accounts' }] },
];
const PAGE_SIZE = 100;

const detailsOf = ({ details, request }: AuditLogEntry): string =>
  Object.entries({ ...details, ...(request ? { with: request.credential, operation: request.operation } : {}) })
    .map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value === null ? 'none' : String(value)}`)
    .join(', ');

const COLUMNS: readonly Column<AuditLogEntry>[] = [
  {
    id: 'at',
    header: 'Time',
    width: '118px',
    stackUnder: 'action',
    cell: (entry) => <TimeText unixMs={entry.creation_time * 1000} />,
  },
  {
    id: 'actor',
    header: 'Actor',
    width: 'minmax(0, 2fr)',
    stackUnder: 'action',
    cell: (entry) => (
      <div className="clip" title={entry.actor}>
        {entry.actor}
      </div>
    ),
  },
  { id: 'action', header: 'Action', width: 'minmax(0, 2fr)', cell: (entry) => <div className="clip mono">{entry.action}</div> },
  {
    id: 'subject',
    header: 'Subject',
    width: 'minmax(0, 2fr)',
    stackUnder: 'action',
    cell: (entry) => (entry.subject === '' ? null : <CopyId value={entry.subject} what="id" />),
  },
  {
    id: 'details',
    header: 'Details',
    width: 'minmax(0, 3fr)',
    from: 'full',
    stackUnder: 'action',
    cell: (entry) => (
      <div className="clip" title={detailsOf(entry)}>
        {detailsOf(entry)}
      </div>
    ),
  },
  {
    id: 'address',
    header: 'IP address',
    width: '128px',
    from: 'full',
    stackUnder: 'actor',
    cell: (entry) => <span className="mono">{entry.address}</span>,
  },
];

export default function AuditPage() {
  const filters = useFilters(FILTERS);
  const { is_operator: isOperator } = useSession();
  const all = isOperator && filters.values.accounts === 'all';
  const pages = useInfiniteQuery<AuditLogPage, ApiFailure, { pages: AuditLogPage[] }, readonly string[], string>({
    queryKey: ['account', 'auditlogs', all ? 'all' : 'own'],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) =>
      valueIn(
        await request<AuditLogPage>('/v2/auditlogs', {
          query: { count: PAGE_SIZE, cursor: pageParam, ...(all ? { all: 'true' } : {}) },
          signal,
        }),
      ),
    getNextPageParam: ({ cursor }) => (cursor === '' ? undefined : cursor),
    refetchOnMount: 'always',
  });
  const word = filters.values.word?.toLowerCase() ?? '';
  const entries = useMemo(() => pages.data?.pages.flatMap(({ auditlogs }) => auditlogs) ?? [], [pages.data]);
  const rows = useMemo(
    () =>
      word === ''
        ? entries
        : entries.filter((entry) =>
            [entry.actor, entry.action, entry.subject, detailsOf(entry), entry.address].join(' ').toLowerCase().includes(word),
          ),
    [entries, word],
  );
  const loadMore = () => {
    if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
  };
  return (
    <>
      <PageTitle title="Audit log" lead="Changes in the accounts that you have access to, newest first." />
      <FilterBar filters={filters} fields={isOperator ? OPERATOR_FIELDS : FIELDS} />
      {pages.isPending ? (
        <Skeleton lines={8} />
      ) : pages.error && entries.length === 0 ? (
        <ErrorState failure={pages.error} onRetry={() => void pages.refetch()} what="the audit log" />
      ) : rows.length === 0 && !pages.hasNextPage ? (
        <div className="table">
          <EmptyState title={word === '' ? 'No entries yet' : 'No matching entries'}>
            The audit log records every change, every login and every access to a secret.
          </EmptyState>
        </div>
      ) : (
        <DataTable
          label="Audit log"
          columns={COLUMNS}
          rows={rows}
          idOf={({ id }) => id}
          {...(word === '' ? { onEnd: loadMore } : {})}
          foot={
            <>
              <span>
                {countText(rows.length)} of {countText(entries.length)} entries
              </span>
              {pages.hasNextPage ? (
                <button type="button" className="button button-small" onClick={loadMore} disabled={pages.isFetchingNextPage}>
                  {pages.isFetchingNextPage ? 'Loading…' : 'Load more'}
                </button>
              ) : (
                <span>End of list</span>
              )}
            </>
          }
        />
      )}
    </>
  );
}
