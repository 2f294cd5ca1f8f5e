import { request } from '../api/client.js';

/** The files of a page could not be had, because nobody answers. */
export class FilesNotHad extends Error {}

/**
 * The files of a page. When they are gone since the service was upgraded, the router loads everything again; when the service
 * does not answer, that would leave the reader with nothing but the words of the browser.
 */
export async function pageFiles<Files>(files: Promise<Files>): Promise<Files> {
  try {
    return await files;
  } catch (error) {
    const asked = await request('/v2/session');
    if (!asked.ok && asked.failure.status === 0) throw new FilesNotHad();
    throw error;
  }
}
