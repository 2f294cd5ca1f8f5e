/** Returns the path to open after the user has signed in. It is always a path of this site. */
export function pathAfterSignIn(requestedPath: string | undefined): string {
  if (requestedPath === undefined || !/^\/(?![/\\])/.test(requestedPath)) return '/';
  return requestedPath.startsWith('/login') ? '/' : requestedPath;
}
