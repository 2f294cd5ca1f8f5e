/** Authentication of requests to a search index by a token of the index. */
import { ApiError } from '../../contract/error-codes.js';
import type { SearchCaller, SearchService } from '../../search/search-service.js';
import type { SearchAccess } from '../admission/authentication.js';

const CHALLENGE = { 'www-authenticate': 'Bearer' } as const;
const BEARER = /^bearer +(\S+) *$/i;
const TOKEN_HINT = 'send "Authorization: Bearer <token of the index>"';

export interface IndexRequest {
  readonly indexId: string;
  readonly authorization: string | undefined;
  readonly requiredAccess: SearchAccess;
}

/** Returns the caller of a request to a search index. Rejects with ApiError `missing-token`, `bad-token` or `read-only-token`. */
export async function admitToIndex(search: SearchService, request: IndexRequest): Promise<SearchCaller> {
  const { indexId, authorization, requiredAccess } = request;
  if (authorization === undefined) throw new ApiError('missing-token', `the request has no token; ${TOKEN_HINT}`, CHALLENGE);
  const token = BEARER.exec(authorization)?.[1];
  const caller = token === undefined ? null : await search.admit({ indexId, token });
  if (!caller)
    throw new ApiError(
      'bad-token',
      `the search index does not exist, or the token is not one of its tokens; ${TOKEN_HINT}`,
      CHALLENGE,
    );
  if (requiredAccess === 'read-write' && caller.access === 'read-only')
    throw new ApiError('read-only-token', 'this token can only read; use the read-write token of the index');
  return caller;
}
