/** Where to after the login: a page of ours, never another site. */
export function pathAfterLogin(wanted: string | undefined): string {
  if (wanted === undefined || !/^\/(?![/\\])/.test(wanted)) return '/';
  return wanted.startsWith('/login') ? '/' : wanted;
}
