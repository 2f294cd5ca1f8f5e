/** Converts network errors to messages that help to find the cause. */

const EXPLANATIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused, nothing listens on this address',
  ECONNRESET: 'the connection was reset before the response was complete',
  UND_ERR_SOCKET: 'the connection was closed before the response was complete',
  EPIPE: 'the connection was closed while the request was sent',
  ENOTFOUND: 'the host name does not exist',
  ENODATA: 'the host name has no address that this machine can use',
  EAI_AGAIN: 'the host name could not be resolved',
  ETIMEOUT: 'the host name lookup timed out',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network of the host',
  ETIMEDOUT: 'the connection timed out',
  EADDRNOTAVAIL: 'this machine has no free port for another connection',
  EMFILE: 'this machine has no free file descriptor for another connection',
  CERT_HAS_EXPIRED: 'its TLS certificate has expired',
  CERT_NOT_YET_VALID: 'its TLS certificate is not valid yet',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its TLS certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its TLS certificate chain is self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its TLS certificate cannot be verified: the chain is incomplete',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'its TLS certificate was issued by an authority that this machine does not trust',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its TLS certificate is for another host name',
  EPROTO: 'it does not use TLS as expected (use http instead of https?)',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not use TLS (use http instead of https?)',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not use TLS (use http instead of https?)',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of its response are too long',
  UND_ERR_DESTROYED: 'the server is stopping',
  UND_ERR_CLOSED: 'the server is stopping',
};

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns the most specific error: that of an attempted address, or the cause of a wrapper. */
function innermostError(error: Error): Error {
  if (error instanceof AggregateError) {
    const firstError: unknown = error.errors[0];
    if (firstError instanceof Error) return innermostError(firstError);
  }
  return codeOf(error) === undefined && error.cause instanceof Error ? innermostError(error.cause) : error;
}

export function networkErrorCode(error: Error): string | undefined {
  return codeOf(innermostError(error));
}

/** Returns, for example, `could not reach a.test:80: connection refused, nothing listens on this address (ECONNREFUSED)`. */
export function describeNetworkError(error: Error, host: string): string {
  const root = innermostError(error);
  const code = codeOf(root);
  if (root.name === 'HTTPParserError') return `${host} sent a response that is not valid HTTP/1.1 (${code ?? root.message})`;
  if (code === undefined) return `could not reach ${host}: ${root.message}`;
  return `could not reach ${host}: ${EXPLANATIONS[code] ?? root.message} (${code})`;
}
