/** What the server and the apps that run workflows have in common. Everything here is exported as `@everstep/sdk/protocol`. */
export * from './bounded-json.js';
export * from './failures/error-frame.js';
export * from './failures/stack-frames.js';
export * from './failures/truncated-text.js';
export * from './journal-digest.js';
export * from './step-protocol.js';
export * from './trace-context.js';
export * from './worker/frames.js';
export * from './worker/worker-url.js';
