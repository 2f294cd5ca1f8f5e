/**
 * Returns whether an id can be part of a URL path. Clients resolve "." and "..", even percent-encoded, before they
 * send a request, so a resource with such an id could be created but never addressed.
 */
export const isPathSafe = (id: string): boolean => id !== '.' && id !== '..';

/** Error text for an id that cannot be part of a path; follows its name. */
export const PATH_SAFE_REQUIREMENT = 'must not be "." or "..", because URL paths cannot contain them';
