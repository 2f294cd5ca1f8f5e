/** Lists messages by the time of their publication, with their latest event. */
import { useId, useMemo } from 'react';
import { type CursorPage, useCursorList } from '../../api/lists.js';
import { EmptyState } from '../../components/states.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';
import { FilterBar } from '../../components/tables/filter-bar.js';
import { type FilterField, invalidFieldsOf } from '../../components/tables/filter-fields.js';
import { listOf, timeOf, useFilters } from '../../components/tables/filters.js';
import { InvalidFilters } from '../../components/tables/invalid-filters.js';
import { type CountedField, ListHistogram } from '../../components/tables/list-histogram.js';
import { type ListOrder, useListOrder } from '../../components/tables/list-order.js';
import { ListTable } from '../../components/tables/list-table.js';
import { TimeText } from '../../components/times/time-text.js';
import { UrlText } from '../../components/url-text.js';
import { latestEvents, MESSAGE_STATES } from './latest-events.js';
import { MessageDialog } from './message-dialog.js';
import type { EventPage, MessageEvent } from './shapes.js';

const FILTERS = ['state', 'queue', 'group', 'url', 'label', 'id', 'from', 'to'] as const;
type FilterName = (typeof FILTERS)[number];
const isList = (text: string): boolean => listOf(text) !== undefined;
const FIELDS: readonly FilterField<FilterName>[] = [
  {
    kind: 'choice',
    name: 'state',
    label: 'State',
    anyText: 'Any state',
    // The filter matches any event of a message, so only final states can be selected: earlier events would match as well.
    options: (['DELIVERED', 'FAILED', 'CANCELED'] as const).map((value) => ({ value, text: MESSAGE_STATES[value].text })),
  },
  { kind: 'list', name: 'queue', label: 'Queue', isValid: isList },
  { kind: 'text', name: 'url', label: 'Destination', placeholder: 'Exact URL', wide: true },
];
const MORE_FIELDS: readonly FilterField<FilterName>[] = [
  { kind: 'list', name: 'group', label: 'URL group', isValid: isList },
  { kind: 'list', name: 'label', label: 'Label', isValid: isList },
  { kind: 'list', name: 'id', label: 'Message id', isValid: isList },
  { kind: 'time', name: 'from', label: 'Published after' },
  { kind: 'time', name: 'to', label: 'Published before' },
];
const ALL_FIELDS = [...FIELDS, ...MORE_FIELDS];
const OPEN_MESSAGE = ['message'] as const;
const RANGE = { from: 'from', to: 'to' } as const;
const COUNTED_FIELDS: readonly CountedField<FilterName>[] = [
  { field: 'url', label: 'Destination', parameter: 'url' },
  { field: 'queueName', label: 'Queue', parameter: 'queue' },
  { field: 'topicName', label: 'URL group', parameter: 'group' },
  { field: 'label', label: 'Label', parameter: 'label' },
];

const readNewestFirst = ({ logs, cursor }: EventPage): CursorPage<MessageEvent> => ({
  rows: latestEvents(logs),
  cursor: cursor ?? null,
});
const readOldestFirst = ({ logs, cursor }: EventPage): CursorPage<MessageEvent> => ({
  rows: latestEvents(logs.toReversed()).toReversed(),
  cursor: cursor ?? null,
});
const idOf = ({ messageId }: MessageEvent): string => messageId;

const columnsOf = (sort: ListOrder['sort']): readonly Column<MessageEvent>[] => [
  {
    id: 'state',
    header: 'State',
    width: '132px',
    stackUnder: 'url',
    cell: ({ state }) => <StatusBadge tone={MESSAGE_STATES[state].tone}>{MESSAGE_STATES[state].text}</StatusBadge>,
  },
  {
    id: 'url',
    header: 'Destination',
    sortBy: ({ url }) => url,
    width: 'minmax(0, 4fr)',
    cell: ({ url, method }) => (
      <div className="message-destination" title={`${method} ${url}`}>
        <span className="muted">{method}</span> <UrlText url={url} />
      </div>
    ),
  },
  {
    id: 'via',
    header: 'Via',
    width: 'minmax(0, 2fr)',
    stackUnder: 'url',
    cell: ({ queueName, topicName }) => (
      <div className="clip">
        {queueName !== undefined ? `queue ${queueName}` : topicName !== undefined ? `group ${topicName}` : ''}
      </div>
    ),
  },
  {
    id: 'error',
    header: 'Error',
    width: 'minmax(0, 3fr)',
    shownFrom: 'full',
    stackUnder: 'url',
    cell: ({ error }) => (
      <div className="clip" title={error}>
        {error}
      </div>
    ),
  },
  {
    id: 'created',
    header: 'Published',
    sort,
    width: '118px',
    stackUnder: 'url',
    cell: ({ createdAt }) => <TimeText unixMs={createdAt} />,
  },
  {
    id: 'time',
    header: 'Updated',
    sortBy: ({ time }) => time,
    width: '118px',
    stackUnder: 'url',
    cell: ({ time }) => <TimeText unixMs={time} />,
  },
];

export function MessagesList() {
  const heading = useId();
  const filters = useFilters(FILTERS);
  const invalidFields = invalidFieldsOf(ALL_FIELDS, filters.values);
  const openMessage = useFilters(OPEN_MESSAGE);
  const { state, queue, group, url, label, id, from, to } = filters.values;
  const query = {
    state,
    queueName: listOf(queue),
    topicName: listOf(group),
    url,
    label: listOf(label),
    messageIds: listOf(id),
    fromDate: timeOf(from),
    toDate: timeOf(to),
  };
  const order = useListOrder();
  const columns = useMemo(() => columnsOf(order.sort), [order.sort]);
  const list = useCursorList({
    topic: 'runs',
    name: 'messages',
    url: '/v2/logs',
    query: { ...query, ...order.query },
    // Counts events; a message has several.
    count: 200,
    moreCount: 1_000,
    read: order.oldestFirst ? readOldestFirst : readNewestFirst,
    idOf,
    enabled: invalidFields.length === 0,
  });
  return (
    <section className="queues-section" aria-labelledby={heading}>
      <div className="section-head">
        <h2 id={heading}>Messages</h2>
      </div>
      <FilterBar filters={filters} fields={FIELDS} moreFields={MORE_FIELDS} />
      {invalidFields.length > 0 ? (
        <InvalidFilters fields={invalidFields} rowsName="messages" onClear={filters.clear} />
      ) : (
        <>
          <ListHistogram listName="messages" list={list} query={query} filters={filters} range={RANGE} fields={COUNTED_FIELDS} />
          <ListTable
            label="Messages"
            rowsName="messages"
            list={list}
            columns={columns}
            idOf={idOf}
            onOpen={({ messageId }) => openMessage.set('message', messageId)}
            empty={
              <EmptyState title={filters.isFiltered ? 'No matching messages' : 'No messages'}>
                Messages that are published to a URL or URL group, or enqueued, appear here. Workflow runs are on the Runs page.
              </EmptyState>
            }
          />
        </>
      )}
      {openMessage.values.message === undefined ? null : (
        <MessageDialog messageId={openMessage.values.message} onClose={openMessage.clear} />
      )}
    </section>
  );
}
