import { request } from './client.js';

/** Thrown when the files of a page cannot be loaded because the server does not respond. */
export class PageFilesUnavailable extends Error {}

/**
 * Loads the files of a page. If an upgrade of the server removed them, the router reloads the whole dashboard. If the server does
 * not respond, a reload would leave only the browser's error page, so this throws `PageFilesUnavailable` instead.
 */
export async function loadPageFiles<Files>(files: Promise<Files>): Promise<Files> {
  try {
    return await files;
  } catch (error) {
    const outcome = await request('/v2/session');
    if (!outcome.ok && outcome.failure.status === 0) throw new PageFilesUnavailable();
    throw error;
  }
}
