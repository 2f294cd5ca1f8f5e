/** Which addresses may receive e-mail. */
export interface MailRecipients {
  allows(address: string): boolean;
}
