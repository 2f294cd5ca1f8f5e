/** Properties of the JavaScript runtime. */

/** Returns whether a request may await a promise of another request. On Cloudflare Workers, it would never continue. */
export const sharesPromises = (): boolean => !(typeof navigator === 'object' && navigator.userAgent === 'Cloudflare-Workers');
