/** Which addresses may receive email. */
export interface MailRecipients {
  allows(address: string): boolean;
}
