/**
 * Management of queue instances under the paths of this dialect. Each operation is a native one at another path. Only
 * field names in one body and the token format differ.
 */
import { RecordId } from '../../contract/management.js';
import { carryToken } from '../../dialects/upstash/token.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import { jsonBody } from '../management/outcome.js';
import type { BodySpec, Operation, OperationInput, OperationResponse } from '../operation.js';

interface Row {
  /** Id of the native operation. */
  readonly of: string;
  readonly operationId: string;
  readonly path: string;
  readonly body?: BodySpec;
  /** Maps field names of this dialect to native field names. */
  readonly renamed?: Readonly<Record<string, string>>;
}

const ROWS: readonly Row[] = [
  { of: 'listInstances', operationId: 'listQStashUsers', path: '/v2/qstash/users' },
  { of: 'getInstance', operationId: 'getQStashUser', path: '/v2/qstash/user/{id}' },
  { of: 'rotateInstanceTokens', operationId: 'resetQStashToken', path: '/v2/qstash/rotate-token/{id}' },
  { of: 'setInstancePlan', operationId: 'setQStashPlan', path: '/v2/qstash/set-plan/{id}' },
  { of: 'getInstanceStats', operationId: 'getQStashStats', path: '/v2/qstash/stats/{id}' },
  {
    of: 'moveInstanceToTeam',
    operationId: 'moveQStashToTeam',
    path: '/v2/qstash/move-to-team',
    body: jsonBody({ qstash_id: RecordId('Id of the queue instance.'), target_team_id: RecordId('Id of the team.') }),
    renamed: { qstash_id: 'queue_id' },
  },
  { of: 'updateInstanceBudget', operationId: 'updateQStashBudget', path: '/v2/qstash/update-budget/{id}' },
];

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function withNames(body: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!isObject(body)) return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [names[name] ?? name, value]));
}

/** Converts tokens in instance records to the format of the published SDKs. Other values stay unchanged. */
function withCarriedTokens(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(withCarriedTokens);
  if (!isObject(body)) return body;
  const { id } = body;
  if (typeof id !== 'string') return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => {
      const isToken = (name === 'token' || name === 'read_only_token') && typeof value === 'string';
      return [name, isToken ? carryToken({ instanceId: id, token: value }) : value];
    }),
  );
}

function atPath({ of, operationId, path, body, renamed = {} }: Row): Operation {
  const own = MANAGEMENT_OPERATIONS.find((operation) => operation.operationId === of);
  if (!own) throw new Error(`the management API has no operation ${of}`);
  return {
    ...own,
    operationId,
    path,
    dialect: 'upstash',
    ...(body ? { body } : {}),
    async run(input: OperationInput, context, admitted): Promise<OperationResponse> {
      const response = await own.run({ ...input, body: withNames(input.body, renamed) }, context, admitted);
      return { ...response, body: withCarriedTokens(response.body) };
    },
  };
}

export const managementOperations: readonly Operation[] = ROWS.map(atPath);
