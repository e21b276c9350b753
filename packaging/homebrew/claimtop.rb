# Copied into a tap by the maintainer after a release, with the checksum of the source archive.
class Claimtop < Formula
  desc "Shows which claims on tasks, jobs and locks are stale, expiring or orphaned"
  homepage "https://github.com/OWNER/claimtop"
  url "https://github.com/OWNER/claimtop/archive/refs/tags/v0.2.0.tar.gz"
  sha256 "REPLACE_WITH_THE_CHECKSUM_OF_THE_ARCHIVE"
  license "MIT"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    generate_completions_from_executable(bin/"claimtop", "completions")
    (man1/"claimtop.1").write Utils.safe_popen_read(bin/"claimtop", "man")
  end

  test do
    system bin/"claimtop", "init", "tasks.db", "--system", "task-queue"
    system bin/"claimtop", "check", "tasks.db"
  end
end
