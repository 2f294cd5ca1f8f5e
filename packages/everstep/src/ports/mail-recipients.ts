/** Decides which addresses may receive email. */
export interface MailRecipients {
  allows(address: string): boolean;
}
