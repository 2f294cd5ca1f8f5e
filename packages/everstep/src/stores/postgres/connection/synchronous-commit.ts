/**
 * Makes every later commit of a connection wait for the disk, and for the synchronous standby if there is one, even if the default
 * of the server is different.
 */
export const SYNCHRONOUS_COMMIT = `
  SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')`;
