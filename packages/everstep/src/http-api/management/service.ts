/** OpenAPI document of the management API, available without a login. */
import Type from 'typebox';
import { openOperation, respond } from '../operation.js';

export const getManagementOpenApi = openOperation({
  operationId: 'getManagementOpenApi',
  tag: 'Service',
  summary: 'Get the OpenAPI document of the management API',
  description: 'Returns this document. Requires no authentication.',
  method: 'GET',
  path: '/openapi-management.json',
  unknownQuery: 'ignore',
  whileStopping: 'respond',
  responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1 document.' }) },
  errors: [],
  handle: (_input, { managementOpenApi }) => respond(200, managementOpenApi()),
});
