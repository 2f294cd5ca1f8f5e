/**
 * Management of queue instances under the paths of this dialect. Each operation is a native operation at another path.
 * Only field names in one body and the token format differ.
 */
import { RecordId } from '../../contract/management.js';
import { carryToken } from '../../dialects/upstash/token.js';
import { MANAGEMENT_OPERATIONS } from '../management/index.js';
import { jsonBody } from '../management/outcome.js';
import type { BodySpec, Operation, OperationInput, OperationResponse } from '../operation.js';

interface RenamedOperation {
  /** Id of the native operation. */
  readonly nativeId: string;
  readonly operationId: string;
  readonly path: string;
  readonly body?: BodySpec;
  /** Maps field names of this dialect to native field names. */
  readonly fieldNames?: Readonly<Record<string, string>>;
}

const RENAMED_OPERATIONS: readonly RenamedOperation[] = [
  { nativeId: 'listInstances', operationId: 'listQStashUsers', path: '/v2/qstash/users' },
  { nativeId: 'getInstance', operationId: 'getQStashUser', path: '/v2/qstash/user/{id}' },
  { nativeId: 'rotateInstanceTokens', operationId: 'resetQStashToken', path: '/v2/qstash/rotate-token/{id}' },
  { nativeId: 'setInstancePlan', operationId: 'setQStashPlan', path: '/v2/qstash/set-plan/{id}' },
  { nativeId: 'getInstanceStats', operationId: 'getQStashStats', path: '/v2/qstash/stats/{id}' },
  {
    nativeId: 'moveInstanceToTeam',
    operationId: 'moveQStashToTeam',
    path: '/v2/qstash/move-to-team',
    body: jsonBody({ qstash_id: RecordId('Id of the queue instance.'), target_team_id: RecordId('Id of the team.') }),
    fieldNames: { qstash_id: 'queue_id' },
  },
  { nativeId: 'updateInstanceBudget', operationId: 'updateQStashBudget', path: '/v2/qstash/update-budget/{id}' },
];

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function renameFields(body: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!isObject(body)) return body;
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [names[name] ?? name, value]));
}

/** Converts tokens in instance records to the format of the published SDKs. Other values stay unchanged. */
function convertTokens(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(convertTokens);
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

function renameOperation({ nativeId, operationId, path, body, fieldNames = {} }: RenamedOperation): Operation {
  const nativeOperation = MANAGEMENT_OPERATIONS.find((operation) => operation.operationId === nativeId);
  if (!nativeOperation) throw new Error(`the management API has no operation ${nativeId}`);
  return {
    ...nativeOperation,
    operationId,
    path,
    dialect: 'upstash',
    ...(body ? { body } : {}),
    async run(input: OperationInput, context, admitted): Promise<OperationResponse> {
      const response = await nativeOperation.run({ ...input, body: renameFields(input.body, fieldNames) }, context, admitted);
      return { ...response, body: convertTokens(response.body) };
    },
  };
}

export const managementOperations: readonly Operation[] = RENAMED_OPERATIONS.map(renameOperation);
