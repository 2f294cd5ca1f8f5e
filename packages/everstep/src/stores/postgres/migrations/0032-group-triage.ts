/** Version 32: who works on a group of dead letters, its snooze and its notes, as JSON. Null if nothing was decided. */
export const groupTriage = 'ALTER TABLE dead_letter_group ADD COLUMN triage text;';
