/** Returns the path to open after login. It is always a path of this site. */
export function pathAfterLogin(wanted: string | undefined): string {
  if (wanted === undefined || !/^\/(?![/\\])/.test(wanted)) return '/';
  return wanted.startsWith('/login') ? '/' : wanted;
}
