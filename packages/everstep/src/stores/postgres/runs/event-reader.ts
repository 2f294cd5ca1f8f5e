/** Reads the waiters of events, and the webhooks that runs have created. */
import type { EventStore } from '../../../ports/stores/store.js';
import { waiterOf } from '../../records/run-rows.js';
import type { RunInInstance } from '../commit/known-run.js';
import { type Session, statement } from '../connection/connection.js';
import { runCondition, runValues } from './run-conditions.js';

const selectWaitersSql = (condition: string): string => `
  SELECT w.event_id, w.since, w.slot, w.run_key, r.workflow_run_id, r.created_at, r.workflow_url, r.dialect, t.name, t.wake_at
  FROM (SELECT event_id, run_key, slot, since FROM waiter WHERE instance_id = $1 AND ${condition}) w
  JOIN run r ON r.instance_id = $1 AND r.run_key = w.run_key
  JOIN task t ON t.instance_id = $1 AND t.run_key = w.run_key AND t.slot = w.slot
  ORDER BY w.event_id, w.since, w.run_key, w.slot`;
const SELECT_WAITERS = statement(
  selectWaitersSql(`event_id = $2 AND (since, run_key, slot) > ($3::bigint, $4::text, $5::bigint)
    ORDER BY since, run_key, slot LIMIT $6`),
);
const SELECT_ALL_WAITERS = statement(
  selectWaitersSql(`(event_id, since, run_key, slot) > ($2::text, $3::bigint, $4::text, $5::bigint)
    ORDER BY event_id, since, run_key, slot LIMIT $6`),
);
/** Finds the step that created a webhook. Only results of such steps are parsed, because other results can be any JSON. */
const FIND_WEBHOOK = statement(`
  SELECT 1 FROM step s
  WHERE ${runCondition('s')}
    AND s.type = 'CreateWebhook'
    AND CASE WHEN s.type = 'CreateWebhook' THEN s.out::json ->> 'eventId' END = $3
  LIMIT 1`);

export async function listWaiters(
  session: Session,
  { instanceId, eventId, after, limit }: Parameters<EventStore['listWaiters']>[0],
): ReturnType<EventStore['listWaiters']> {
  const position = after ? [after.since, after.runKey, after.slot] : [-1, '', 0];
  const rows =
    eventId === null
      ? session.query(SELECT_ALL_WAITERS, [instanceId, after?.eventId ?? '', ...position, limit])
      : session.query(SELECT_WAITERS, [instanceId, eventId, ...position, limit]);
  return (await rows).map(waiterOf);
}

export async function hasWebhook(session: Session, run: RunInInstance, eventId: string): Promise<boolean> {
  return (await session.query(FIND_WEBHOOK, [...runValues(run), eventId])).length > 0;
}
