/** Tools for testing workflows: a service with a clock that tests control, and a server for the workflows. */

export { type StartedTestService, type StartOptions, startTestService } from './service-process.js';
export { type Advanced, connectTestService, type TestConnection, type TestService } from './test-service.js';
export { serveWorkflows, type WorkflowServer } from './workflow-server.js';
