/** Lists the alerts that the rules have opened. */
import Type from 'typebox';
import { LIMITS } from '../../../config/limits.js';
import { type AlertEntry, AlertPage } from '../../../contract/alerts/alerts.js';
import type { Alert } from '../../../engine/alerts/alert.js';
import { alertPath } from '../../../engine/alerts/alert-link.js';
import type { AlertCondition } from '../../../engine/alerts/alert-settings.js';
import { operation, respond } from '../../operation.js';
import { Cursor } from '../../parameters/values.js';
import { optional } from '../../presenters/optional.js';

const STATES = ['open', 'ended'] as const;

function presentAlert(instanceId: string, alert: Alert, condition: AlertCondition | null): AlertEntry {
  const { endedAt, notifiedAt, notifyAt, notice: _notice, details, ...commonFields } = alert;
  return {
    ...commonFields,
    ...details,
    dashboardPath: alertPath(instanceId, alert, condition),
    ...optional('endedAt', endedAt ?? undefined),
    ...optional('notifiedAt', notifiedAt ?? undefined),
    ...optional('notifyAt', notifyAt ?? undefined),
  };
}

export const listAlerts = operation({
  operationId: 'listAlerts',
  tag: 'Alerts',
  summary: 'List alerts',
  description:
    'Returns alerts, newest first. Ended alerts are retained for 30 days. The cursor is empty when there are no more results.',
  method: 'GET',
  path: '/v2/alerts',
  unknownQuery: 'ignore',
  query: Type.Object({
    state: Type.Optional(Type.Enum([...STATES], { type: 'string', description: 'State of the alerts. Default: all.' })),
    cursor: Type.Optional(Cursor('Cursor from the previous page, with the same filters. Omit it for the first page.')),
    count: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: LIMITS.alertsPageMax,
        default: LIMITS.alertsPageDefault,
        description: 'Maximum number of alerts per page.',
      }),
    ),
  }),
  responses: { 200: AlertPage },
  errors: ['bad-parameter', 'bad-cursor'],
  async handle({ query }, { service, cursors }, { instanceId }) {
    const { state, cursor: cursorText, count: limit = LIMITS.alertsPageDefault } = query;
    const scope = { operation: 'alerts', instanceId, filters: { state } };
    const cursorState = cursorText ? await cursors.open(scope, cursorText) : null;
    const stateFilter = state === undefined ? {} : { isOpen: state === 'open' };
    // One extra alert is read to find out whether there is a next page.
    const matchingAlerts = await service.alerts.list({
      instanceId,
      ...stateFilter,
      after: cursorState?.after ?? null,
      limit: limit + 1,
    });
    const alerts = matchingAlerts.slice(0, limit);
    const lastAlert = alerts.at(-1);
    const cursor =
      matchingAlerts.length > limit && lastAlert
        ? await cursors.seal(scope, { after: lastAlert.alertId, horizon: null, remaining: null })
        : '';
    const conditions = new Map(service.alerts.settings({ instanceId }).rules.map(({ name, condition }) => [name, condition]));
    const entries = alerts.map((alert) => presentAlert(instanceId, alert, conditions.get(alert.rule) ?? null));
    return respond(200, { cursor, alerts: entries });
  },
});
