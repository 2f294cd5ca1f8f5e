/** OpenAPI 3.1 document of the runtime API. */

import type { TSchema } from 'typebox';
import { DEFAULT_REGION, REGIONS } from '../../config/regions.js';
import {
  AlertConditionSchema,
  AlertDestinationEntry,
  AlertEntry,
  AlertPage,
  AlertRuleEntry,
  LifecycleWebhookEntry,
} from '../../contract/alerts/alerts.js';
import { RunAttempt, RunAttempts } from '../../contract/attempts.js';
import { DeadLetterGroup, DeadLetterGroupPage } from '../../contract/dead-letter-groups.js';
import { DeadLetterEntry, DeadLetterPage, DeletedDeadLetters, RecoveredRuns } from '../../contract/dead-letters.js';
import { ErrorBody } from '../../contract/errors.js';
import { EventWaiter, NotifiedWaiter, Waiter } from '../../contract/events.js';
import { ExplanationSchema, Reason } from '../../contract/explanation.js';
import {
  AttentionItem,
  InsightPoint,
  InsightTotals,
  InstanceInsights,
  WorkflowInsights,
} from '../../contract/insights/insights.js';
import { ListSummary, TopValues } from '../../contract/insights/list-summaries.js';
import { LiveChange, NodeEntry } from '../../contract/live.js';
import {
  ActiveRun,
  AttemptError,
  FoundRun,
  LoggedStep,
  RunJournal,
  RunLogEntry,
  RunLogPage,
  RunReferenceSchema,
  RunResult,
  RunSearchPage,
  StepGroup,
  TriggeredRun,
} from '../../contract/runs.js';
import { ScheduleEntry } from '../../contract/schedules.js';
import {
  DestinationEntry,
  FlowControlEntry,
  FlowControls,
  FlowControlWaitList,
  InstanceSettingsSchema,
  SigningKeysSchema,
} from '../../contract/service.js';
import { KeySetSchema, PublicKeySchema, SignatureSettingsSchema } from '../../contract/signatures.js';
import { UnservedWorkflow, WorkerEntry, WorkerPage } from '../../contract/workers/workers.js';
import { DEFAULT_DIALECT } from '../../dialects/index.js';
import { OPERATIONS } from '../operations/index.js';
import { openApiOf, SESSION_SECURITY } from './openapi-document.js';

/** Named schemas of the document. */
const NAMED_SCHEMAS: Readonly<Record<string, TSchema>> = {
  Error: ErrorBody,
  Alert: AlertEntry,
  AlertCondition: AlertConditionSchema,
  AlertDestination: AlertDestinationEntry,
  AlertPage,
  AlertRule: AlertRuleEntry,
  AttemptError,
  DeadLetterEntry,
  DeadLetterGroup,
  DeadLetterGroupPage,
  DeadLetterPage,
  DeletedDeadLetters,
  Destination: DestinationEntry,
  EventWaiter,
  Explanation: ExplanationSchema,
  FlowControl: FlowControlEntry,
  FlowControls,
  FlowControlWaitList,
  FoundRun,
  LoggedStep,
  LifecycleWebhook: LifecycleWebhookEntry,
  LiveChange,
  Node: NodeEntry,
  NotifiedWaiter,
  Reason,
  RecoveredRuns,
  RunAttempt,
  RunAttempts,
  RunJournal,
  RunLogEntry,
  RunLogPage,
  RunReference: RunReferenceSchema,
  RunResult,
  RunSearchPage,
  ActiveRun,
  AttentionItem,
  InsightPoint,
  InsightTotals,
  InstanceInsights,
  ListSummary,
  TopValues,
  WorkflowInsights,
  Schedule: ScheduleEntry,
  Settings: InstanceSettingsSchema,
  KeySet: KeySetSchema,
  PublicKey: PublicKeySchema,
  SignatureSettings: SignatureSettingsSchema,
  SigningKeys: SigningKeysSchema,
  StepGroup,
  TriggeredRun,
  UnservedWorkflow,
  Waiter,
  Worker: WorkerEntry,
  WorkerPage,
};

/** Returns the document. `serviceVersion` is the version of Everstep that it mentions. */
export function openApiDocument(serviceVersion: string): object {
  const region = { enum: [...REGIONS], default: DEFAULT_REGION };
  return openApiOf({
    info: {
      title: 'Everstep runtime API',
      version: '2.0.0',
      description: `Manages workflow runs, their logs, the dead letter queue, schedules, events and flow control. Served by Everstep ${serviceVersion}.`,
    },
    servers: [
      { url: '/', description: 'This server, in the default region.' },
      { url: 'https://{region}.{host}', variables: { region, host: { default: 'localhost' } } },
    ],
    security: [{ token: [] }, { tokenInQuery: [] }, { session: [] }],
    securitySchemes: {
      session: SESSION_SECURITY,
      token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'Token of a queue instance.' },
      tokenInQuery: {
        type: 'apiKey',
        in: 'query',
        name: DEFAULT_DIALECT.tokenParameter,
        description: 'Token of a queue instance.',
      },
    },
    operations: OPERATIONS,
    named: NAMED_SCHEMAS,
  });
}
