/**
 * Ids that paths can carry. "." and ".." are the directory and the one above in every URL, percent-encoded too, and clients
 * take them out before they send: what has such an id could be made and never be named again.
 */
export const fitsInPaths = (id: string): boolean => id !== '.' && id !== '..';

/** What is wrong with one that does not, after its name. */
export const NOT_IN_PATHS = 'must not be "." or "..", which no URL can carry';
