/** Tools for testing workflows: an Everstep server with a clock that tests control, and an HTTP server for the workflows. */

export { type StartedTestService, type StartOptions, startTestService } from './service-process.js';
export { type ClockAdvance, connectTestService, type TestConnection, type TestService } from './test-service.js';
export { serveWorkflows, type WorkflowServer } from './workflow-server.js';
