/** Returns the path to open after login. It is always a path of this site. */
export function pathAfterLogin(requestedPath: string | undefined): string {
  if (requestedPath === undefined || !/^\/(?![/\\])/.test(requestedPath)) return '/';
  return requestedPath.startsWith('/login') ? '/' : requestedPath;
}
