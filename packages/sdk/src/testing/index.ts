/** For tests of workflows: a service whose time a test moves on, and a server for the workflows. */

export { type StartedTestService, type StartOptions, startTestService } from './service-process.js';
export { type Advanced, connectTestService, type TestConnection, type TestService } from './test-service.js';
export { serveWorkflows, type WorkflowServer } from './workflow-server.js';
