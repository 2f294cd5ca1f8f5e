/** URLs of workflows that a worker serves over its connection: `worker://<app>/<workflow>`. */

/** Scheme of the URLs, including `://`. */
export const WORKER_SCHEME = 'worker://';

/** Name of an app: lowercase letters, digits, `-`, `_` and `.`; at most 63 characters. */
export const WORKER_APP = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/;
/** Name of a workflow: parts of letters, digits, `-`, `_`, `.` and `~`, separated by `/`; at most 256 characters. */
export const WORKER_WORKFLOW = /^(?=.{1,256}$)[A-Za-z0-9_~-][A-Za-z0-9._~-]*(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$/;

/** A workflow that workers serve. */
export interface WorkerWorkflow {
  readonly app: string;
  readonly workflow: string;
}

/** Returns the app and the workflow of a URL, or null if it is not a valid worker URL. */
export function parseWorkerUrl(url: string): WorkerWorkflow | null {
  if (!url.startsWith(WORKER_SCHEME)) return null;
  const slash = url.indexOf('/', WORKER_SCHEME.length);
  if (slash === -1) return null;
  const app = url.slice(WORKER_SCHEME.length, slash);
  const workflow = url.slice(slash + 1);
  return WORKER_APP.test(app) && WORKER_WORKFLOW.test(workflow) ? { app, workflow } : null;
}

/** Returns the URL of a workflow. Does not check the names. */
export const workerUrl = (app: string, workflow: string): string => `${WORKER_SCHEME}${app}/${workflow}`;
