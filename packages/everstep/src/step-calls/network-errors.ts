/** What went wrong on the way to an endpoint, in words that say what to look at. */

const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there',
  ECONNRESET: 'the connection was reset before the answer was complete',
  UND_ERR_SOCKET: 'the connection was closed before the answer was complete',
  EPIPE: 'the connection was closed while the request was sent',
  ENOTFOUND: 'the host name does not exist',
  ENODATA: 'the host name has no address that this machine can use',
  EAI_AGAIN: 'the host name could not be resolved at this time',
  ETIMEOUT: 'the host name could not be resolved in time',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to its network',
  ETIMEDOUT: 'the connection timed out',
  EADDRNOTAVAIL: 'this machine has no free port for another connection',
  EMFILE: 'this machine has no free file descriptor for another connection',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  CERT_NOT_YET_VALID: 'its TLS certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate chain is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate cannot be verified: the chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate is from an authority that this machine does not know',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another host name',
  EPROTO: 'it does not speak TLS as expected (is it http rather than https?)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS (is it http rather than https?)',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS (is it http rather than https?)',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its answer are too long',
  UND_ERR_DESTROYED: 'the service is stopping',
  UND_ERR_CLOSED: 'the service is stopping',
};

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The error that says most: that of an address tried, or the cause of a wrapper. */
function innermost(error: Error): Error {
  if (error instanceof AggregateError) {
    const first: unknown = error.errors[0];
    if (first instanceof Error) return innermost(first);
  }
  return codeOf(error) === undefined && error.cause instanceof Error ? innermost(error.cause) : error;
}

export function networkErrorCode(error: Error): string | undefined {
  return codeOf(innermost(error));
}

/** For example `could not reach example.org:8080: nothing listens there (ECONNREFUSED)`. */
export function describeNetworkError(error: Error, host: string): string {
  const root = innermost(error);
  const code = codeOf(root);
  if (root.name === 'HTTPParserError') return `${host} answered something that is no HTTP/1.1 (${code ?? root.message})`;
  if (code === undefined) return `could not reach ${host}: ${root.message}`;
  return `could not reach ${host}: ${WORDS[code] ?? root.message} (${code})`;
}
