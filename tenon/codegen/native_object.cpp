// A small ELF loader (System V ABI, AMD64 supplement): sections, symbols, relocations.
#include "tenon/codegen/native_object.h"

#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <vector>

namespace tenon::codegen {
namespace {

// What kernels may call.
const std::map<std::string_view, const void*>& external_functions() {
#define F32(name) \
  {#name "f", reinterpret_cast<const void*>(static_cast<float (*)(float)>(::name##f))}
#define F64(name) {#name, reinterpret_cast<const void*>(static_cast<double (*)(double)>(::name))}
  static const std::map<std::string_view, const void*> table = {
      F32(exp),
      F32(expm1),
      F32(log),
      F32(log1p),
      F32(sin),
      F32(cos),
      F32(tan),
      F32(asin),
      F32(acos),
      F32(atan),
      F32(sinh),
      F32(cosh),
      F32(tanh),
      F32(asinh),
      F32(acosh),
      F32(atanh),
      F32(erf),
      F32(lgamma),
      F32(floor),
      F32(ceil),
      F32(rint),
      F32(trunc),
      F32(nearbyint),
      F64(exp),
      F64(expm1),
      F64(log),
      F64(log1p),
      F64(sin),
      F64(cos),
      F64(tan),
      F64(asin),
      F64(acos),
      F64(atan),
      F64(sinh),
      F64(cosh),
      F64(tanh),
      F64(asinh),
      F64(acosh),
      F64(atanh),
      F64(erf),
      F64(lgamma),
      F64(floor),
      F64(ceil),
      F64(rint),
      F64(trunc),
      F64(nearbyint),
      {"powf", reinterpret_cast<const void*>(static_cast<float (*)(float, float)>(::powf))},
      {"pow", reinterpret_cast<const void*>(static_cast<double (*)(double, double)>(::pow))},
      {"fmodf", reinterpret_cast<const void*>(static_cast<float (*)(float, float)>(::fmodf))},
      {"fmod", reinterpret_cast<const void*>(static_cast<double (*)(double, double)>(::fmod))},
      {"atan2f", reinterpret_cast<const void*>(static_cast<float (*)(float, float)>(::atan2f))},
      {"atan2", reinterpret_cast<const void*>(static_cast<double (*)(double, double)>(::atan2))},
      {"ldexpf", reinterpret_cast<const void*>(static_cast<float (*)(float, int)>(::ldexpf))},
      {"memcpy", reinterpret_cast<const void*>(&::memcpy)},
      {"memset", reinterpret_cast<const void*>(&::memset)},
  };
#undef F32
#undef F64
  return table;
}

constexpr std::size_t kStub = 16;  // jmp *[rip]; address: calls reach functions beyond 2 GiB

}  // namespace

// Everything needed while one object is placed.
struct NativeObject::Loader {
  std::string_view file;
  const Elf64_Ehdr* header = nullptr;
  std::vector<const Elf64_Shdr*> sections;
  std::vector<std::size_t> at;  // offset of each section in memory, npos when not placed
  std::size_t end = 0;          // of sections, stubs follow
  std::map<std::string, std::size_t> stubs;
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  template <class T>
  Result<const T*> view(std::uint64_t offset, std::uint64_t count = 1) const {
    if (offset % alignof(T) || count > file.size() / sizeof(T) ||
        offset > file.size() - count * sizeof(T))
      return invalid("native object: {} bytes at {} lie outside of its {} bytes", count * sizeof(T),
                     offset, file.size());
    return reinterpret_cast<const T*>(file.data() + offset);
  }
  Result<std::string_view> text(const Elf64_Shdr& table, std::uint32_t offset) const {
    TENON_TRY(view<char>(table.sh_offset, table.sh_size));
    const std::string_view all = file.substr(table.sh_offset, table.sh_size);
    if (offset >= all.size()) return invalid("native object: a name lies outside of its table");
    const auto zero = all.find('\0', offset);
    if (zero == std::string_view::npos) return invalid("native object: a name has no end");
    return all.substr(offset, zero - offset);
  }
  Status read_header() {
    header = TENON_TRY(view<Elf64_Ehdr>(0));
    if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_type != ET_REL)
      return invalid("not an ELF relocatable");
    if (header->e_machine != EM_X86_64)
      return unsupported("native object for machine {}, not x86-64", header->e_machine);
    if (header->e_shnum > 4096) return invalid("native object with {} sections", header->e_shnum);
    const Elf64_Shdr* first = TENON_TRY(view<Elf64_Shdr>(header->e_shoff, header->e_shnum));
    for (int i = 0; i < header->e_shnum; ++i) sections.push_back(first + i);
    return {};
  }
  Status place() {
    constexpr std::uint64_t kMaxBytes = 64u << 20;
    for (const Elf64_Shdr* s : sections) {
      at.push_back(npos);
      if (!(s->sh_flags & SHF_ALLOC)) continue;
      const std::uint64_t align = s->sh_addralign ? s->sh_addralign : 1;
      if (align > 4096 || (align & (align - 1)) || s->sh_size > kMaxBytes || end > kMaxBytes)
        return invalid("native object: a section of {} bytes aligned to {}", s->sh_size, align);
      if (s->sh_type != SHT_NOBITS) TENON_TRY(view<char>(s->sh_offset, s->sh_size));
      end = (end + align - 1) / align * align;
      at.back() = end;
      end += s->sh_size;
    }
    end = (end + kStub - 1) / kStub * kStub;
    return {};
  }
  struct Symbols {
    const Elf64_Sym* first;
    std::uint64_t count;
    const Elf64_Shdr* names;
  };
  Result<Symbols> symbols() const {
    for (const Elf64_Shdr* s : sections) {
      if (s->sh_type != SHT_SYMTAB) continue;
      if (s->sh_link >= sections.size()) return invalid("native object: its symbols have no names");
      const std::uint64_t n = s->sh_size / sizeof(Elf64_Sym);
      return Symbols{TENON_TRY(view<Elf64_Sym>(s->sh_offset, n)), n, sections[s->sh_link]};
    }
    return invalid("native object without symbols");
  }
};

// Lays the sections of a read object into memory and binds what they refer to.
class NativeObject::Linker {
 public:
  Linker(Loader& loader, const Loader::Symbols& symbols, std::byte* base)
      : l_(loader), symbols_(symbols), base_(base), next_stub_(loader.end) {}

  void copy_sections() {
    for (std::size_t i = 0; i < l_.sections.size(); ++i) {
      const Elf64_Shdr& s = *l_.sections[i];
      if (placed(i) && s.sh_type != SHT_NOBITS)
        std::memcpy(base_ + l_.at[i], l_.file.data() + s.sh_offset, s.sh_size);
    }
  }

  Status relocate() {
    for (const Elf64_Shdr* s : l_.sections) {
      if (s->sh_type != SHT_RELA || !placed(s->sh_info)) continue;
      const std::uint64_t n = s->sh_size / sizeof(Elf64_Rela);
      const Elf64_Rela* r = TENON_TRY(l_.view<Elf64_Rela>(s->sh_offset, n));
      for (std::uint64_t i = 0; i < n; ++i) TENON_TRY(apply(r[i], s->sh_info));
    }
    return {};
  }

  /// Name and offset of every global symbol that the object defines.
  Result<std::vector<std::pair<std::string, std::size_t>>> exported() const {
    std::vector<std::pair<std::string, std::size_t>> found;
    for (std::uint64_t i = 0; i < symbols_.count; ++i) {
      const Elf64_Sym& s = symbols_.first[i];
      if (ELF64_ST_BIND(s.st_info) == STB_GLOBAL && s.st_shndx != SHN_UNDEF && placed(s.st_shndx) &&
          s.st_value < l_.sections[s.st_shndx]->sh_size)
        found.emplace_back(TENON_TRY(l_.text(*symbols_.names, s.st_name)),
                           l_.at[s.st_shndx] + s.st_value);
    }
    return found;
  }

 private:
  bool placed(std::uint64_t section) const {
    return section < l_.sections.size() && l_.at[section] != Loader::npos;
  }

  Result<std::int64_t> address(const Elf64_Sym& s) {
    if (s.st_shndx == SHN_ABS) return static_cast<std::int64_t>(s.st_value);
    if (s.st_shndx == SHN_UNDEF) return stub(TENON_TRY(l_.text(*symbols_.names, s.st_name)));
    if (!placed(s.st_shndx) || s.st_value > l_.sections[s.st_shndx]->sh_size)
      return invalid("native object: a symbol lies in no section");
    return reinterpret_cast<std::int64_t>(base_ + l_.at[s.st_shndx] + s.st_value);
  }

  /// The address of a jump to an external function: the function itself may lie too far away.
  Result<std::int64_t> stub(std::string_view name) {
    const auto function = external_functions().find(name);
    if (function == external_functions().end())
      return unsupported("native object calls {}, which kernels may not", name);
    const auto [it, fresh] = l_.stubs.try_emplace(std::string(name), next_stub_);
    if (fresh) {
      const unsigned char jump[8] = {0xff, 0x25, 0x02, 0, 0, 0, 0x90, 0x90};  // jmp *[rip + 2]
      std::memcpy(base_ + next_stub_, jump, 8);
      std::memcpy(base_ + next_stub_ + 8, &function->second, 8);
      next_stub_ += kStub;
    }
    return reinterpret_cast<std::int64_t>(base_ + it->second);
  }

  Status apply(const Elf64_Rela& r, std::uint64_t section) {
    const std::uint64_t index = ELF64_R_SYM(r.r_info), type = ELF64_R_TYPE(r.r_info);
    const std::uint64_t size = l_.sections[section]->sh_size;
    const std::size_t width = type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    if (index >= symbols_.count || r.r_offset > size || size - r.r_offset < width)
      return invalid("native object: a relocation lies outside of its section");
    std::byte* where = base_ + l_.at[section] + r.r_offset;
    // In unsigned arithmetic: an addend of a damaged file may be anything.
    const std::uint64_t target =
        static_cast<std::uint64_t>(TENON_TRY(address(symbols_.first[index]))) +
        static_cast<std::uint64_t>(r.r_addend);
    const auto relative =
        static_cast<std::int64_t>(target - reinterpret_cast<std::uint64_t>(where));
    if (type == R_X86_64_64 || type == R_X86_64_PC64) {
      const auto stored = type == R_X86_64_64 ? target : static_cast<std::uint64_t>(relative);
      std::memcpy(where, &stored, 8);
      return {};
    }
    if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
      return unsupported("native object: relocation type {}", type);
    const auto narrow = static_cast<std::int32_t>(relative);
    if (relative != narrow) return invalid("native object: a relocation does not reach its target");
    std::memcpy(where, &narrow, 4);
    return {};
  }

  Loader& l_;
  const Loader::Symbols& symbols_;
  std::byte* base_;
  std::size_t next_stub_;
};

Result<std::shared_ptr<const NativeObject>> NativeObject::load(std::string_view bytes) {
  Loader l;
  // Relocatables from files have any alignment in memory; read a copy that is aligned.
  std::vector<std::uint64_t> aligned((bytes.size() + 7) / 8);
  if (!bytes.empty()) std::memcpy(aligned.data(), bytes.data(), bytes.size());
  l.file = {reinterpret_cast<const char*>(aligned.data()), bytes.size()};
  TENON_TRY(l.read_header());
  TENON_TRY(l.place());
  const auto symbols = TENON_TRY(l.symbols());
  std::shared_ptr<NativeObject> object(new NativeObject);
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  object->bytes_ = (l.end + external_functions().size() * kStub + page - 1) / page * page;
  void* memory =
      mmap(nullptr, object->bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    return error(Code::out_of_memory, "no memory for {} bytes of code", object->bytes_);
  object->memory_ = static_cast<std::byte*>(memory);
  Linker linker(l, symbols, object->memory_);
  linker.copy_sections();
  TENON_TRY(linker.relocate());
  object->symbols_ = TENON_TRY(linker.exported());
  if (mprotect(memory, object->bytes_, PROT_READ | PROT_EXEC) != 0)
    return io_error("code cannot be made executable");
  return std::shared_ptr<const NativeObject>(std::move(object));
}

NativeObject::~NativeObject() {
  if (memory_) munmap(memory_, bytes_);
}

const void* NativeObject::symbol(std::string_view name) const {
  for (const auto& [n, offset] : symbols_)
    if (n == name) return memory_ + offset;
  return nullptr;
}

}  // namespace tenon::codegen
