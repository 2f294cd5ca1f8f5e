/** Lists the audit log: changes with their actor, time and IP address. The log is append-only. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import type { AuditLogEntry, AuditLogPage } from '../../../../everstep/src/contract/audit.js';
import { request } from '../../api/client.js';
import { type ApiFailure, valueIn } from '../../api/outcome.js';
import { useSession } from '../../api/session.js';
import { CopyId } from '../../components/copy-id.js';
import { PageTitle } from '../../components/page-title.js';
import { EmptyState, ErrorState, FailureNotice, Skeleton } from '../../components/states.js';
import { type Column, DataTable } from '../../components/tables/data-table.js';
import { FilterBar, type FilterField } from '../../components/tables/filter-bar.js';
import { useFilters } from '../../components/tables/filters.js';
import { quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

const FILTERS = ['q', 'accounts'] as const;
type FilterName = (typeof FILTERS)[number];
const FIELDS: readonly FilterField<FilterName>[] = [
  { kind: 'text', name: 'q', label: 'Search', placeholder: 'Actor, action, id or IP address', wide: true },
];
const OPERATOR_FIELDS: readonly FilterField<FilterName>[] = [
  ...FIELDS,
  {
    kind: 'choice',
    name: 'accounts',
    label: 'Accounts',
    anyText: 'Your accounts',
    options: [{ value: 'all', text: 'All accounts' }],
  },
];
const PAGE_SIZE = 100;

const detailsOf = ({ details, request }: AuditLogEntry): string =>
  Object.entries({ ...details, ...(request ? { credential: request.credential, operation: request.operation } : {}) })
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
    cell: (entry) => (entry.subject === '' ? null : <CopyId value={entry.subject} valueName="id" />),
  },
  {
    id: 'details',
    header: 'Details',
    width: 'minmax(0, 3fr)',
    shownFrom: 'full',
    stackUnder: 'action',
    stackBelow: true,
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
    shownFrom: 'full',
    stackUnder: 'actor',
    stackBelow: true,
    cell: (entry) => <span className="mono">{entry.address}</span>,
  },
];

export default function AuditPage() {
  const filters = useFilters(FILTERS);
  const { is_operator: isOperator } = useSession();
  const q = filters.values.q ?? '';
  const showsAll = isOperator && filters.values.accounts === 'all';
  const pages = useInfiniteQuery<AuditLogPage, ApiFailure, { pages: AuditLogPage[] }, readonly string[], string>({
    queryKey: ['account', 'auditlogs', showsAll ? 'all' : 'own', q],
    initialPageParam: '',
    queryFn: async ({ pageParam, signal }) =>
      valueIn(
        await request<AuditLogPage>('/v2/auditlogs', {
          query: { count: PAGE_SIZE, cursor: pageParam, q, ...(showsAll ? { all: 'true' } : {}) },
          signal,
        }),
      ),
    getNextPageParam: ({ cursor }) => (cursor === '' ? undefined : cursor),
    refetchOnMount: 'always',
  });
  const entries = useMemo(() => pages.data?.pages.flatMap(({ auditlogs }) => auditlogs) ?? [], [pages.data]);
  const loadMore = () => {
    if (pages.hasNextPage && !pages.isFetching) void pages.fetchNextPage();
  };
  const retry = () => void (pages.isFetchNextPageError ? pages.fetchNextPage() : pages.refetch());
  // A search reads a limited number of entries per page, so a page can be empty before the end.
  const isSearching = entries.length === 0 && pages.hasNextPage;
  // biome-ignore lint/correctness/useExhaustiveDependencies: load the next page after each page
  useEffect(() => {
    if (isSearching && pages.error === null) loadMore();
  }, [isSearching, pages.isFetching, pages.error]);
  return (
    <>
      <PageTitle title="Audit log" lead="Changes in the accounts that you have access to, newest first." />
      <FilterBar filters={filters} fields={isOperator ? OPERATOR_FIELDS : FIELDS} />
      {pages.isPending ? (
        <Skeleton lines={8} />
      ) : pages.error && entries.length === 0 ? (
        <ErrorState failure={pages.error} onRetry={retry} subject="the audit log" />
      ) : isSearching ? (
        <p role="status">Searching older entries…</p>
      ) : entries.length === 0 ? (
        <div className="table">
          <EmptyState title={q === '' ? 'No entries yet' : 'No matching entries'}>
            The audit log records every change, every sign-in and every access to a secret.
          </EmptyState>
        </div>
      ) : (
        <DataTable
          label="Audit log"
          columns={COLUMNS}
          rows={entries}
          idOf={({ id }) => id}
          // A failed page is not requested again until the user retries.
          {...(pages.error === null ? { onEnd: loadMore } : {})}
          footer={
            <>
              <span>{quantity(entries.length, 'entry', 'entries')} shown</span>
              {pages.error === null ? null : <FailureNotice failure={pages.error} onRetry={retry} />}
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
