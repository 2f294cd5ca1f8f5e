/** Host names of this machine, of cloud metadata services, and of private networks. */

const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata.google.internal', 'metadata.goog']);

/** Top-level labels without public host names: reserved for private use, or used in cluster and home networks. */
const PRIVATE_SUFFIXES: ReadonlySet<string> = new Set([
  ...['local', 'localdomain', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'svc', 'arpa', 'invalid', 'onion', 'alt'],
]);

const lastLabel = (host: string): string => host.slice(host.lastIndexOf('.') + 1);

export const isMetadataName = (host: string): boolean => METADATA_NAMES.has(host);
export const isLocalhost = (host: string): boolean => lastLabel(host) === 'localhost';
/** Returns whether a name is internal. A single label is looked up in the search domains of the machine or cluster. */
export const isInternalName = (host: string): boolean => !host.includes('.') || PRIVATE_SUFFIXES.has(lastLabel(host));
