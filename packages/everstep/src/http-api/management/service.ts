/** What everybody may ask of the management API. */
import Type from 'typebox';
import { answer, openOperation } from '../operation.js';

export const getManagementOpenApi = openOperation({
  operationId: 'getManagementOpenApi',
  tag: 'Service',
  summary: 'This document',
  method: 'GET',
  path: '/openapi-management.json',
  unknownQuery: 'ignore',
  whileStopping: 'answer',
  responses: { 200: Type.Unknown({ description: 'OpenAPI 3.1' }) },
  errors: [],
  handle: (_input, { managementOpenApi }) => answer(200, managementOpenApi()),
});
