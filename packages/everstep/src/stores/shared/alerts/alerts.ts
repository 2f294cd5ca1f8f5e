/** Alerts, and events that the alert rules have not evaluated yet. */
import { type Alert, NOTICE_KINDS } from '../../../engine/alerts/alert.js';
import type { AlertEvent } from '../../../engine/alerts/alert-events.js';
import { ALERT_KINDS } from '../../../engine/alerts/alert-settings.js';
import type { WriteOf } from '../../../engine/writes.js';
import type { AlertPage, AlertStore } from '../../../ports/stores/alerts/alert-store.js';
import { integer, json as readJson } from '../../records/columns.js';
import { inList, SKIP_LOCKED } from '../sql/dialect.js';
import { count, type Procedure, row, rows, type SqlStore, send } from '../sql/procedure.js';
import { raw, type Sql, sql } from '../sql/sql.js';
import { json, NUMBER, nullable, oneOf, TEXT, table } from '../sql/table.js';

const ALERT = table<Alert & { readonly instanceId: string }>('alert', {
  instanceId: TEXT,
  alertId: TEXT,
  rule: TEXT,
  kind: oneOf(ALERT_KINDS),
  subject: TEXT,
  openedAt: NUMBER,
  lastAt: NUMBER,
  endedAt: nullable(NUMBER),
  occurrences: NUMBER,
  details: json(),
  notice: nullable(oneOf(NOTICE_KINDS)),
  notifyAt: nullable(NUMBER),
  notifiedAt: nullable(NUMBER),
});
const EVENT = table<{ readonly instanceId: string; readonly eventId: string; readonly content: AlertEvent }>('alert_event', {
  instanceId: TEXT,
  eventId: TEXT,
  content: json(),
});

/** The columns of an alert that change. The others are written when the alert is created. */
const CHANGEABLE_COLUMNS = table<
  Pick<Alert, 'lastAt' | 'endedAt' | 'occurrences' | 'details' | 'notice' | 'notifyAt' | 'notifiedAt'>
>('alert', {
  lastAt: NUMBER,
  endedAt: nullable(NUMBER),
  occurrences: NUMBER,
  details: json(),
  notice: nullable(oneOf(NOTICE_KINDS)),
  notifyAt: nullable(NUMBER),
  notifiedAt: nullable(NUMBER),
});

/** Stops the transaction of a round that another process has already completed. */
class AlreadyDoneError extends Error {}

function alertOf(alertRow: Parameters<typeof ALERT.read>[0]): Alert {
  const { instanceId: _instance, ...alert } = ALERT.read(alertRow);
  return alert;
}

export const addAlertEvent = ({ instanceId, event }: WriteOf<'alert'>): Procedure<void> =>
  send(EVENT.insert({ instanceId, eventId: event.eventId, content: event }));

function* readEvents(instanceId: string, limit: number): Procedure<readonly AlertEvent[]> {
  const foundRows = yield* rows(sql`
    SELECT content FROM alert_event WHERE instance_id = ${instanceId} ORDER BY event_id LIMIT ${limit}`);
  return foundRows.map((eventRow) => readJson<AlertEvent>(eventRow, 'content'));
}

function* readAlerts(condition: Sql): Procedure<readonly Alert[]> {
  return (yield* rows(sql`SELECT * FROM alert WHERE ${condition}`)).map(alertOf);
}

function* recordRound({ instanceId, changes, eventIds }: Parameters<AlertStore['record']>[0]): Procedure<boolean> {
  const removedCount =
    eventIds.length === 0
      ? 0
      : yield* count(sql`DELETE FROM alert_event WHERE instance_id = ${instanceId} AND event_id ${inList(eventIds)}`);
  if (removedCount !== eventIds.length) throw new AlreadyDoneError();
  for (const { isNew, alert } of changes) {
    const { alertId } = alert;
    const writtenCount = isNew
      ? yield* count(sql`${ALERT.insert({ instanceId, ...alert })} ON CONFLICT DO NOTHING`)
      : yield* count(sql`
          UPDATE alert SET ${CHANGEABLE_COLUMNS.assignments(alert)}
          WHERE instance_id = ${instanceId} AND alert_id = ${alertId} AND ended_at IS NULL`);
    if (writtenCount === 0) throw new AlreadyDoneError();
  }
  return true;
}

const isPending = (instanceId: string, { alertId, notice }: Pick<Alert, 'alertId' | 'notice'>): Sql =>
  sql`instance_id = ${instanceId} AND alert_id = ${alertId} AND notice = ${notice}`;

const pageClause = ({ instanceId, isOpen, after, limit }: AlertPage): Sql => {
  const stateCondition = isOpen === undefined ? raw('') : raw(isOpen ? 'AND ended_at IS NULL' : 'AND ended_at IS NOT NULL');
  const positionCondition = after === null ? raw('') : sql`AND alert_id < ${after}`;
  return sql`instance_id = ${instanceId} ${stateCondition} ${positionCondition} ORDER BY alert_id DESC LIMIT ${limit}`;
};

export function createAlertStore(store: SqlStore): AlertStore {
  return {
    events: ({ instanceId, limit }) => store.readDurable(readEvents(instanceId, limit)),
    listOpen: ({ instanceId }) => store.read(readAlerts(sql`instance_id = ${instanceId} AND ended_at IS NULL ORDER BY alert_id`)),
    async record(query) {
      try {
        return await store.write(() => recordRound(query));
      } catch (error) {
        if (error instanceof AlreadyDoneError) return false;
        throw error;
      }
    },
    dueNotices: ({ instanceId, before, limit }) =>
      store.readDurable(
        readAlerts(sql`instance_id = ${instanceId} AND notify_at <= ${before} ORDER BY notify_at, alert_id LIMIT ${limit}`),
      ),
    async countNotified({ instanceId, since }) {
      const foundRow = await store.read(
        row(sql`SELECT count(*) AS notices FROM alert WHERE instance_id = ${instanceId} AND notified_at >= ${since}`),
      );
      return foundRow ? integer(foundRow, 'notices') : 0;
    },
    moveNotice: ({ instanceId, alert, notifyAt, now }) =>
      store.write(() =>
        send(
          notifyAt === null
            ? sql`
                UPDATE alert SET notice = NULL, notify_at = NULL, notified_at = ${now} WHERE ${isPending(instanceId, alert)}`
            : sql`UPDATE alert SET notify_at = ${notifyAt} WHERE ${isPending(instanceId, alert)}`,
        ),
      ),
    list: (page) => store.read(readAlerts(pageClause(page))),
    removeEnded: ({ instanceId, endedBefore, limit }) =>
      store.write(() =>
        count(sql`
          DELETE FROM alert WHERE instance_id = ${instanceId} AND alert_id IN (
            SELECT alert_id FROM alert WHERE instance_id = ${instanceId} AND ended_at < ${endedBefore}
            ORDER BY ended_at LIMIT ${limit} ${SKIP_LOCKED})`),
      ),
  };
}
