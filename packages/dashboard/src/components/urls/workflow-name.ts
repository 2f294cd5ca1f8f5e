/** URLs and short names of workflows. A workflow is identified by its URL, whose path distinguishes it from others. */

/** Returns whether the text looks like the URL of a workflow. The server validates it. */
export const isWorkflowUrl = (text: string): boolean => /^(?:https?|worker):\/\/[^\s/]/.test(text.trim());

export interface UrlParts {
  /** Path with its query, such as `/order`; '' for the root and for text that is not a URL. */
  readonly path: string;
  /** `shop.example:8080`, `worker://shop`, or the whole text if it is not a URL. */
  readonly host: string;
}

export function partsOfUrl(url: string): UrlParts {
  const parts = /^([a-z][a-z0-9+.-]*:\/\/)([^/?#]+)(\/.*)?$/is.exec(url);
  if (parts === null) return { path: '', host: url };
  const [, scheme = '', host = '', path = ''] = parts;
  // The name of an app alone would look like a host.
  return { path: path === '/' ? '' : path, host: scheme === 'worker://' ? `${scheme}${host}` : host };
}

/** Returns the last part of the path, or the host of a URL without a path: `order` for `https://shop.example/api/order`. */
export function workflowName(url: string): string {
  const { path, host } = partsOfUrl(url);
  const [pathOnly = ''] = path.split(/[?#]/);
  const lastPart = pathOnly
    .split('/')
    .filter((part) => part !== '')
    .at(-1);
  if (lastPart === undefined) return host;
  try {
    return decodeURIComponent(lastPart);
  } catch {
    return lastPart;
  }
}
