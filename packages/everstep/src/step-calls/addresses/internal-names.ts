/** Host names that mean this machine, cloud metadata, or something on a private network. */

const METADATA_NAMES: ReadonlySet<string> = new Set(['metadata.google.internal', 'metadata.goog']);

/** Last labels that no public host name has: reserved for private use, or used by cluster and home networks. */
const PRIVATE_SUFFIXES: ReadonlySet<string> = new Set([
  ...['local', 'localdomain', 'internal', 'intranet', 'private', 'corp', 'home', 'lan', 'svc', 'arpa', 'invalid', 'onion', 'alt'],
]);

const lastLabel = (host: string): string => host.slice(host.lastIndexOf('.') + 1);

export const isMetadataName = (host: string): boolean => METADATA_NAMES.has(host);
export const isLocalhost = (host: string): boolean => lastLabel(host) === 'localhost';
/** A name of one label is searched for in the domains of the machine or the cluster. */
export const isInternalName = (host: string): boolean => !host.includes('.') || PRIVATE_SUFFIXES.has(lastLabel(host));
