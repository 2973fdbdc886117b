#include "tenon/dataset/mail.h"

#include <gtest/gtest.h>

namespace tenon::dataset {
namespace {

TEST(Mail, SubjectAndPlainBody) {
  EXPECT_EQ(mail_text("From a@b Thu\nSubject: Hello\n  again\nX: y\n\nbody\n"),
            "Hello again\n\nbody\n");
  EXPECT_EQ(mail_text("Subject: s\r\n\r\nb\r\n"), "s\n\nb\r\n");
  EXPECT_EQ(mail_text("\nonly text"), "\n\nonly text");
  EXPECT_EQ(mail_text(""), "\n\n");
}

TEST(Mail, EncodingsAreUndone) {
  EXPECT_EQ(mail_text("Subject: =?iso-8859-1?Q?gr=FC=DFe_an?= x =?utf-8?b?w6Q=?=\n\n"),
            "gr\u00fc\u00dfe an x \u00e4\n\n");
  EXPECT_EQ(mail_text("Content-Transfer-Encoding: quoted-printable\n\na=3Db=\nc=E4=zz"),
            "\n\na=bc\u00e4=zz");
  EXPECT_EQ(mail_text("Content-Transfer-Encoding: BASE64\n\naGVs\nbG8=\n"), "\n\nhello");
  EXPECT_EQ(mail_text("Subject: =?broken\n\n"), "=?broken\n\n");
}

TEST(Mail, PartsAreWalked) {
  const char* mixed =
      "Content-Type: multipart/mixed; boundary=\"x y\"\n\npreamble\n--x y\n"
      "Content-Type: multipart/alternative; boundary=z\n\n--z\n\nplain\n--z\n"
      "Content-Type: text/html\n\n<b>rich</b>\n--z--\n--x y\nContent-Type: image/png\n\nPNG\n"
      "--x y\nContent-Type: text/plain\n\nlast\n--x y--\nafter";
  EXPECT_EQ(mail_text(mixed), "\n\nplain\n\nlast\n");
  const char* endless = "Content-Type: multipart/mixed; boundary=z\n\n--z\n\nno end";
  EXPECT_EQ(mail_text(endless), "\n\nno end");
}

TEST(Mail, DepthIsBounded) {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "Content-Type: message/rfc822\n\n";
  EXPECT_LT(mail_text(deep + "text").size(), 100u);
}

}  // namespace
}  // namespace tenon::dataset
