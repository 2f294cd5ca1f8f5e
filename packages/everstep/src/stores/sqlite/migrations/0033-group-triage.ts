/** Version 33: the assignee, the snooze and the notes of a group of dead letters, as JSON; null if it was never triaged. */
export const groupTriage = 'ALTER TABLE dead_letter_group ADD COLUMN triage TEXT;';
