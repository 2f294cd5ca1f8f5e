/**
 * Pattern of an email address that needs no quotes in a header and no escapes in a `mailto:` URL. Forms that old servers relay to
 * another host (`user%host`, `host!user`) are excluded.
 */
export const MAIL_ADDRESS = "^[A-Za-z0-9_+'=&~-]+(\\.[A-Za-z0-9_+'=&~-]+)*@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*$";
